package recipe

import "github.com/gokiln/kiln/quantized/format"

// rules are tried in this order: the first that applies decides.
var rules = []rule{
	{output, lowest + " IQ3_XXS", nil, format.Q5_K},
	{output, "Q8_0", nil, format.Q8_0},
	{output, "", nil, format.Q6_K},

	{embedding, "IQ2_XXS IQ2_XS IQ1_S IQ1_M", nil, format.Q2_K},
	{embedding, "IQ2_S IQ2_M IQ3_XXS", nil, format.IQ3_S},
	{embedding, "TQ1_0 TQ2_0 Q2_0", nil, format.Q4_K},

	{attnV, lowest, sparse, format.Q4_K},
	{attnV, "IQ2_S IQ2_M", nil, format.IQ3_S},
	{attnV, lowest, nil, format.Q2_K},
	{attnV, "Q2_K Q2_K_S IQ3_XXS IQ3_XS IQ3_S", grouped, format.Q4_K},
	{attnV, "Q2_K", nil, format.Q3_K},
	{attnV, "IQ3_XXS", not(imatrix), format.IQ3_S},
	{attnV, "IQ3_M", nil, format.Q4_K},
	{attnV, "Q3_K_M", first(2), format.Q5_K},
	{attnV, "Q3_K_M", nil, format.Q4_K},
	{attnV, "Q3_K_L", nil, format.Q5_K},
	{attnV, "IQ4_NL IQ4_XS", grouped, format.Q5_K},
	{attnV, "Q4_K_M Q5_K_M", moreBits, format.Q6_K},
	{attnV, "Q4_K_S", first(4), format.Q5_K},

	{attnK, "", experts8, format.Q8_0},
	{attnK, "IQ3_XS", nil, format.IQ3_XXS},
	{attnK, "IQ3_XXS", nil, format.IQ2_S},

	{attnQ, "IQ3_XS", nil, format.IQ3_XXS},
	{attnQ, "IQ3_XXS", nil, format.IQ2_S},

	{attnQKV, "Q3_K_M Q3_K_L IQ3_M", nil, format.Q4_K},
	{attnQKV, "Q4_K_M", nil, format.Q5_K},
	{attnQKV, "Q5_K_M", nil, format.Q6_K},

	{attnOut, lowest, experts8, format.Q5_K},
	{attnOut, "IQ1_S IQ1_M", nil, format.IQ2_XXS},
	{attnOut, "IQ2_S IQ2_M", nil, format.IQ3_S},
	{attnOut, "Q3_K_L", falcon, format.Q4_K},
	{attnOut, "Q2_K IQ3_XS IQ3_XXS Q3_K_S Q3_K_M IQ4_NL Q4_K_S Q4_K_M IQ3_S IQ3_M IQ4_XS",
		all(not(falcon), experts8), format.Q5_K},
	{attnOut, "Q2_K", all(not(falcon), not(experts8)), format.Q3_K},
	{attnOut, "IQ3_XXS", all(not(falcon), not(experts8)), format.IQ3_S},
	{attnOut, "Q3_K_M IQ3_M", all(not(falcon), not(experts8)), format.Q4_K},
	{attnOut, "Q3_K_L", all(not(falcon), not(experts8)), format.Q5_K},

	{ffnDown, "IQ2_S IQ2_M", firstOf(8), format.IQ3_S},
	{ffnDown, lowest, firstOf(8), format.Q2_K},
	{ffnDown, "Q2_K", nil, format.Q3_K},
	{ffnDown, "Q2_K_S", firstOf(8), format.Q4_K},
	{ffnDown, "IQ3_XXS", all(not(imatrix), firstOf(8)), format.Q4_K},
	{ffnDown, "IQ3_XXS", not(imatrix), format.Q3_K},
	{ffnDown, "Q3_K_M", firstOf(16), format.Q5_K},
	{ffnDown, "Q3_K_M", not(all(falcon, not(moreBits))), format.Q4_K},
	{ffnDown, "IQ3_M", firstOf(8), format.Q4_K},
	{ffnDown, "IQ3_M", all(experts8, moreBits), format.Q4_K},
	{ffnDown, "Q3_K_L", falcon, format.Q4_K},
	{ffnDown, "Q3_K_L", nil, format.Q5_K},
	{ffnDown, "Q4_K_M", all(falcon, firstOf(16)), format.Q6_K},
	{ffnDown, "Q4_K_M", all(falcon, moreBits), format.Q5_K},
	{ffnDown, "Q4_K_M Q5_K_M", all(not(falconWith("Q4_K_M")), moreBits), format.Q6_K},
	{ffnDown, "IQ4_NL IQ4_XS", all(not(imatrix), firstOf(8)), format.Q5_K},
	{ffnDown, "Q4_K_S", all(not(falcon), firstOf(8)), format.Q5_K},
	{ffnDown, "Q4_0", all(imatrix, firstOf(8)), format.Q4_1},
	{ffnDown, "Q5_0", all(imatrix, firstOf(8)), format.Q5_1},

	{ffnGate, "IQ3_XS", middle, format.IQ3_XXS},
	{ffnUp, "IQ3_XS", middle, format.IQ3_XXS},
}

// falconWith: a model of this architecture, by a recipe.
func falconWith(recipe string) condition {
	return func(s *state) bool { return s.falcon() && s.recipe.Name == recipe }
}
