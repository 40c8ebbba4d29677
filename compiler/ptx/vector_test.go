package ptx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// What a vectoriser looks at grows with the accesses, however many are open at a time and however
// many addresses they are at.
func TestVectorisationIsLinear(t *testing.T) {
	for name, at := range map[string]func(i int) (store bool, base uint64, off int64){
		"loads":            func(i int) (bool, uint64, int64) { return false, 0, int64(4 * i) },
		"stores":           func(i int) (bool, uint64, int64) { return true, 0, int64(4 * i) },
		"stores back":      func(i int) (bool, uint64, int64) { return true, 0, int64(-4 * i) },
		"at one place":     func(i int) (bool, uint64, int64) { return true, 0, 0 },
		"loads of many":    func(i int) (bool, uint64, int64) { return false, uint64(i), 0 },
		"stores to many":   func(i int) (bool, uint64, int64) { return true, uint64(i), 0 },
		"loads and stores": func(i int) (bool, uint64, int64) { return i%2 == 0, uint64(i), 0 },
	} {
		t.Run(name, func(t *testing.T) {
			const n = 20_000
			e := &emitter{}
			for i := range n {
				store, base, off := at(i)
				m := &memop{store: store, space: ir.Global, kind: "b32", size: 4, at: addr{base: number(int64(base)), off: off}, value: number(1)}
				e.insts = append(e.insts, inst{effect: store, mem: m})
			}
			v := vectoriser{e: e, gone: make([]bool, n), vec: map[int][]inst{}}
			v.run()
			require.Less(t, v.looked, 20*n)
		})
	}
}
