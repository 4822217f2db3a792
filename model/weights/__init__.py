"""Trained weights: folders by family, the hub, packaged models, files of models that were trained here."""
