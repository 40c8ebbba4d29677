package irconf

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/ir"
)

// gatherCases load narrow values from places that follow no rule, relative to addresses
// that are multiples of nothing but their size.
func gatherCases() []Case {
	var out []Case
	for _, t := range []*ir.Type{ir.U8, ir.I8, ir.U16, ir.I16, ir.F16, ir.Bool} {
		for first := range int64(4) {
			out = append(out, gatherFrom(t, first))
		}
	}
	return out
}

// gatherFrom loads elements from the one at first on, forwards and backwards.
func gatherFrom(t *ir.Type, first int64) Case {
	const n, size = 100, 256
	name := fmt.Sprintf("gather %s from element %d on", t, first)
	types := []*ir.Type{t, ir.I64, ir.I64, t}
	text := header(name, types) + at(1, ir.I64) + fmt.Sprintf(`
  %%first = load %%p2 : i64
  %%from = offset %%p3, %%first : ptr<global,%[1]s>
  %%q = offset %%from, %%x1 : ptr<global,%[1]s>
  %%v = load %%q : %[1]s
`, t) + put("%v", t) + footer
	data := make([]uint64, size)
	edges := Edges(t)
	for i := range data {
		data[i] = edges[(i*7+i/3)%len(edges)]
	}
	c := Case{Name: name, Text: text, Types: types}
	columns := make([][]uint64, 3)
	for i := range int64(n) {
		at := (i*i*5 + 3*i) % (size - 8)
		if i%5 == 4 { // before the address, where there is room
			at = -(i % (first + 1))
		}
		columns[0] = append(columns[0], data[first+at])
		columns[1] = append(columns[1], uint64(at))
		columns[2] = append(columns[2], uint64(first))
	}
	c = c.fill(append(columns, nil), n)
	c.Bufs[3], c.Want[3] = encode(t, data), encode(t, data)
	return c
}
