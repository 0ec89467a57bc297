By0JY«
?