package interp

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLoopEndsInInnerLoop runs an outer loop whose only back edge leads out of an inner one,
// whose trip counts differ from lane to lane. Lanes that are back early must not change what
// those in the inner loop hold: the blocks between have values of their own.
func TestLoopEndsInInnerLoop(t *testing.T) {
	body := `
  %zero = const 0 : i64
  %one = const 1 : i64
  %three = const 3 : i64
  %seven = const 7 : i64
  jump b1(%zero, %zero)
b1(%round: i64, %sum: i64):
  %more = lt %round, %three : bool
  %v1 = mul %sum, %seven : i64
  %v2 = add %v1, %i : i64
  %v3 = mul %v2, %three : i64
  %v4 = xor %v3, %v1 : i64
  br %more, b2, b5
b2:
  %low = and %v4, %seven : i64
  %turns = add %low, %one : i64
  %next = add %round, %one : i64
  jump b3(%turns, %v4)
b3(%left: i64, %acc: i64):
  %go = lt %zero, %left : bool
  br %go, b4, b1(%next, %acc)
b4:
  %fewer = sub %left, %one : i64
  %grown = mul %acc, %three : i64
  %bent = xor %grown, %left : i64
  jump b3(%fewer, %bent)
b5:` + out("%v4")
	want := func(i int64) int64 {
		sum := int64(0)
		for round := 0; ; round++ {
			d := (sum*7+i)*3 ^ sum*7
			if round == 3 {
				return d
			}
			for left := d&7 + 1; left > 0; left-- {
				d = d*3 ^ left
			}
			sum = d
		}
	}
	for _, n := range []int{1, 2, 31, 64, 200} {
		for i, got := range ints(t, n, body) {
			require.Equal(t, want(int64(i)), got, fmt.Sprintf("lane %d of %d", i, n))
		}
	}
}
