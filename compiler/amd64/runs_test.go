package amd64

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A loop that counts equal bytes compares four of them a turn, unless it does something else
// or its counter may be negative.
func TestRuns(t *testing.T) {
	const source = `module "k.Run"

kernel @Run(%0: ptr<global,i64>, %1: i64, %2: ptr<global,u8>, %3: i64, %4: i64) args(out slice i64 "[]int64", text slice u8 "[]uint8", from scalar i64 "int64") {
b0:
  %5 = thread 0 : i64
  %6 = const 0 : i64
  %7 = const 1 : i64
  %8 = offset %0, %5 : ptr<global,i64>
  %9 = load %8 : i64
  jump b1(START)
b1(%10: i64):
  %11 = add %10, %5 : i64
  %12 = lt %11, %3 : bool
  br %12, b2, b4(%10)
b2:
  %13 = offset %2, %11 : ptr<global,u8>
  %14 = load %13 : u8
  %15 = add %9, %10 : i64
  bounds %15, %3
  %16 = offset %2, %15 : ptr<global,u8>
  %17 = load %16 : u8
  %18 = eq %14, %17 : bool
  br %18, b3, b4(%10)
b3:
  MORE
  %19 = add %10, STEP : i64
  jump b1(%19)
b4(%20: i64):
  store %8, %20
  ret
}
`
	for _, c := range []struct {
		start, step, more string
		want              bool
	}{
		{"%6", "%7", "", true},
		{"%7", "%7", "", true},
		{"%4", "%7", "", false},
		{"%6", "%4", "", false},
		{"%6", "%7", "store %8, %10", false},
		{"%6", "%7", "fence", false},
	} {
		text := strings.NewReplacer("START", c.start, "STEP", c.step, "  MORE\n", "  "+c.more+"\n", "  \n", "").Replace(source)
		for name, wide := range map[string]string{"amd64:avx2": "vbroadcasti128", "amd64:avx512": "vpgatherdd"} {
			list := codeOf(t, name, text)
			assert.Equal(t, c.want, strings.Contains(list, wide), "%s, %+v:\n%s", name, c, list)
		}
	}
}
