"""Models said in other languages: SQL, JavaScript, ONNX."""
