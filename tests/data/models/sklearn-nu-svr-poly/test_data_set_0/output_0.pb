BvariableJ0”ù%Ck_CŞçC©ÁC@$C”CäÓCØ[
CëgC6C«C›ÔC