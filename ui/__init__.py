"""What the pages share: navigation, cached loading, controls and languages."""
