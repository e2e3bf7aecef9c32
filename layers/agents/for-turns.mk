# Packages in here that only a running agent imports: kept out of the functions of the API, whose start they would slow.
# A card must be made without them. Add what is heavy of yours.
FOR_TURNS := $(addprefix a2a_agents/iac/,generation operations review)
