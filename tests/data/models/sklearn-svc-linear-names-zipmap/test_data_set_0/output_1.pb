
output_probability2C"setosa"
versicolor"	virginica* JN‹y?J‰®‡<JÏ<2C"setosa"
versicolor"	virginica* J×Ðw?J·<J¢<2C"setosa"
versicolor"	virginica* Jä&o?JÄD=JI›‘<2C"setosa"
versicolor"	virginica* JCz?J}<J!ë<2C"setosa"
versicolor"	virginica* Jxæx?Jb•<JÖ<2C"setosa"
versicolor"	virginica* Js¼=JÒÊu?J`³ô;2C"setosa"
versicolor"	virginica* J÷»$<J †?JàÍÝ>2C"setosa"
versicolor"	virginica* J¯‚<JÄ£c?J‹‘Ð=2C"setosa"
versicolor"	virginica* Jª<Jz?JÆOd<2C"setosa"
versicolor"	virginica* JQ{‰;JÊmó;J.}?2C"setosa"
versicolor"	virginica* Jì–;J{¯];Jwô}?2C"setosa"
versicolor"	virginica* J¹ª;J$'Ÿ;J®l}?