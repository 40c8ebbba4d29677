package amd64

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

const shuffleHead = `module "k.Shuffles"

kernel @Shuffles(%0: ptr<global,u32>, %1: i64, %2: i64) args(x slice u32 "[]uint32", n scalar i64 "int") {
b0:
  %3 = lane : i64
  %4 = thread 0 : i64
  %5 = offset %0, %4 : ptr<global,u32>
  %6 = load %5 : u32
  %7 = const 2 : i64
  %8 = const 64 : i64
`

// Numbers of lanes that constants and the lane's own number tell are constants, and others that were
// made from 32 bits are taken from these.
func TestShuffleSources(t *testing.T) {
	for of, want := range map[string]string{
		"  %9 = and %3, %7 : i64\n": "",
		"  %9 = convert %6 : i64\n": "",
		"  %9 = add %3, %2 : i64\n": "vpmovqd",
		"  %9 = xor %4, %7 : i64\n": "vpmovqd",
	} {
		code := codeOf(t, "amd64:avx512", shuffleHead+of+"  %10 = shfl.idx %6, %9 : u32\n  store %5, %10\n  ret\n}\n")
		body, _, _ := strings.Cut(code, "# for blocks of other shapes")
		assert.Contains(t, body, "vpermd zmm", of)
		assert.Equal(t, want != "", strings.Contains(body, "vpmovqd"), "%s%s", of, body)
	}
}

// What is known of lanes is what the operations give.
func TestOfLane(t *testing.T) {
	for text, want := range map[string]func(lane int64) int64{
		"add %3, %7": func(l int64) int64 { return l + 2 },
		"sub %7, %3": func(l int64) int64 { return 2 - l },
		"mul %3, %7": func(l int64) int64 { return 2 * l },
		"and %3, %7": func(l int64) int64 { return l & 2 },
		"or %3, %7":  func(l int64) int64 { return l | 2 },
		"xor %3, %7": func(l int64) int64 { return l ^ 2 },
		"shr %3, %7": func(l int64) int64 { return l >> 2 },
		"shl %3, %7": func(l int64) int64 { return l << 2 },
		"shl %3, %8": nil, // the rule for such shifts is elsewhere
		"add %3, %2": nil,
		"min %3, %7": nil,
		"add %4, %7": nil,
	} {
		m, err := ir.Parse(fmt.Sprintf("%s  %%9 = %s : i64\n  %%10 = shfl.idx %%6, %%9 : u32\n  store %%5, %%10\n  ret\n}\n", shuffleHead, text))
		require.NoError(t, err)
		for lane := range int64(16) {
			for _, v := range m.Funcs[0].Blocks[0].Instrs {
				if v.Op != ir.OpShflIdx {
					continue
				}
				got, ok := ofLane(v.Args[1], lane, 6)
				require.Equal(t, want != nil, ok, text)
				if ok {
					require.Equal(t, want(lane), got, text)
				}
			}
		}
	}
}
