"""One verb, one module, one public function."""
