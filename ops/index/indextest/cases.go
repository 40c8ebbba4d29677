package indextest

import "github.com/gokiln/kiln/ops/opstest"

// Groups are the tests of the family.
var Groups = []opstest.Group{
	{Name: "Index", Run: Index, Rows: true},
	{Name: "Search", Run: Search, Rows: true},
}
