B
h_backwardJh¿P1z?ô¿ğ¾ß$¿0?ˆ®¾