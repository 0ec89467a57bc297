2cat2category2CAT2dog
Bx0