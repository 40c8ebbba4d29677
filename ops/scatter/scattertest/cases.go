package scattertest

import "github.com/gokiln/kiln/ops/opstest"

// Groups are the tests of the family.
var Groups = []opstest.Group{
	{Name: "Narrow", Run: Narrow},
}
