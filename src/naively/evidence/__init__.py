"""How evidence is pooled: bins, evidence of cells and of normal densities, weights."""
