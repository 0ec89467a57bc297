By0J<®>4BÝ£CB
:B+3’B·ãAñnkBKBBkªBT¯BY÷"B²ž‘BÀ1’B³·BôÎBé^B