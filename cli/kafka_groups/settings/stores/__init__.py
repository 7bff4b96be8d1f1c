"""Key stores of Java: JKS and PKCS #12, told apart by their content, as PEM text."""
