BprobabilitiesJÓ_}?L
(<U™Š4