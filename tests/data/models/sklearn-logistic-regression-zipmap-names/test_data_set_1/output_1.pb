
output_probability2C"setosa"
versicolor"	virginica* JJåy?J¢VÃ<JMð2