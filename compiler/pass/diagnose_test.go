package pass

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEndlessLoopPosition: a loop without an exit is reported at the first source position that
// an operation of it has, wherever the operation stands; operations without one are skipped.
func TestEndlessLoopPosition(t *testing.T) {
	m := parse(t, `
module "t"

kernel @k(%0: ptr<global,i64>, %1: i64) args(x slice i64 "[]int") {
b0:
  jump b1
b1:
  store %0, %1
  %2 = load %0 : i64 !2
  store %0, %2 !1
  store %0, %1 !3
  store %0, %1
  jump b1 !4
}
pos !1 "a.go" 5 2
pos !2 "a.go" 5 7
pos !3 "a.go" 6 1
pos !4 "a.go" 3 1
`)
	err := diagnose(m, &Options{Converge: true})
	var mistakes *MistakeError
	require.ErrorAs(t, err, &mistakes)
	require.Equal(t, []Mistake{{Kind: NoExit, Pos: 1}}, mistakes.Found)
}
