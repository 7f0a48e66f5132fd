"""Export models to other languages: SQL, JavaScript, ONNX."""
