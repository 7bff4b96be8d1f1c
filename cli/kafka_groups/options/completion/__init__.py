"""Shell completion: the scripts of bash, zsh and fish, and the values that they offer."""
