package elementwisetest

import "github.com/gokiln/kiln/ops/opstest"

// Groups are the tests of the family.
var Groups = []opstest.Group{
	{Name: "Elementwise", Run: Elementwise},
	{Name: "Move", Run: Move},
	{Name: "Many", Run: Many},
	{Name: "Map", Run: Map},
}
