
output_probability2%"land"sea*Jºð?J‹à>