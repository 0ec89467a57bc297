
Bx0J޽