"""What all pages share: navigation, links, languages, controls, cached loading, faults, browser components."""
