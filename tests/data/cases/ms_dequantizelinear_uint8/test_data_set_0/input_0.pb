Bx0J
JPS'XZA