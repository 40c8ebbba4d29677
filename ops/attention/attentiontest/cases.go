package attentiontest

import "github.com/gokiln/kiln/ops/opstest"

// Groups are the tests of the family.
var Groups = []opstest.Group{
	{Name: "Attention", Run: Attention},
	{Name: "Decode", Run: Decode},
}
