
output_probability2C"setosa"
versicolor"	virginica* J¬w?Js³µ<Jy•)<