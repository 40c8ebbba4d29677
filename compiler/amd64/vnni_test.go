package amd64

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// A kernel with dot products has code for processors with VNNI and for those without,
// of both mappings if it needs them; others have none.
func TestWaysForVNNI(t *testing.T) {
	const head = `module "k.Dots"

kernel @Dots(%0: ptr<global,i32>, %1: i64) args(x slice i32 "[]int32") {
b0:
  %2 = thread 0 : i64
  %3 = lane : i64
  %4 = offset %0, %2 : ptr<global,i32>
  %5 = load %4 : i32
`
	for body, want := range map[string]int{
		"  %6 = dot4 %5, %5, %5 : i32\n  store %4, %6\n  ret\n}\n": 2,
		"  %6 = add %5, %5 : i32\n  store %4, %6\n  ret\n}\n":      0,
	} {
		for name, instruction := range map[string]string{"amd64:avx2": "{vex} vpdpbusd ymm", "amd64:avx512": "vpdpbusd zmm"} {
			tgt, err := target.Parse(name)
			require.NoError(t, err)
			text := head + body
			if want == 0 {
				text = strings.ReplaceAll(text, "  %3 = lane : i64\n", "")
			}
			m, err := ir.Parse(text)
			require.NoError(t, err)
			im, list, err := Options{}.build(m, tgt)
			require.NoError(t, err)
			vnni := 0
			for _, l := range list {
				if l.vnni {
					vnni++
				}
			}
			assert.Equal(t, want, vnni)
			assert.Equal(t, want > 0, im.VNNI != nil)
			code := codeOf(t, name, text)
			assert.Equal(t, 2*want, strings.Count(code, "\t"+instruction), code)
			if want > 0 {
				assert.NotContains(t, []int{im.Rows, im.General, im.VNNI.General}, im.VNNI.Rows)
			}
		}
	}
}
