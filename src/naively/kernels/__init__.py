"""Call the compiled loops of `native/`: arrays in, arrays out."""
