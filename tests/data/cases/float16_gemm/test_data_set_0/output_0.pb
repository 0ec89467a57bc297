
By0J,BTB³¼ÃÄ‹¿cBà2ÃbºIAl¹$Â