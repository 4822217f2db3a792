"""Files to take away: a map as SVG and PNG, all maps as one HTML page that works offline."""
