package code

import (
	"fmt"
	"slices"
	"strings"
)

// Assume is a set of properties that launches have. Code compiled under some is
// faster, and right for the launches that have them; a launcher looks at the
// arguments and picks the variant. The zero value assumes nothing.
type Assume uint8

// The properties.
const (
	// Small launches fit into 32-bit indices: slices are shorter than
	// [ir.SmallLen], arguments of type int less than that, and the grid keeps
	// to [ir.SmallBlocks] and [ir.SmallThreads] along each axis.
	Small Assume = 1 << iota
	// Aligned slices begin at multiples of 16 bytes.
	Aligned
	// Disjoint slices do not overlap where the kernel writes to one of them.
	Disjoint
)

// Variants is how many sets there are; each is less.
const Variants = int(Disjoint) << 1

var assumeNames = [...]string{"small", "aligned", "disjoint"}

// String lists the properties, as in "small,aligned".
func (a Assume) String() string {
	var list []string
	for i, name := range assumeNames {
		if a>>i&1 != 0 {
			list = append(list, name)
		}
	}
	return strings.Join(list, ",")
}

// ParseAssume returns the set of properties with these names.
func ParseAssume(names ...string) (a Assume, err error) {
	for _, name := range names {
		i := slices.Index(assumeNames[:], name)
		if i < 0 {
			return 0, fmt.Errorf("no property of launches is called %q, only %s", name, strings.Join(assumeNames[:], ", "))
		}
		a |= 1 << i
	}
	return a, nil
}
