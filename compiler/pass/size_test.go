package pass

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

func TestLengthErrors(t *testing.T) {
	const text = `
shared 0 "shared" [0]i64
kernel @k(%0: ptr<global,i64>, %1: i64, %2: i64) args(x slice i64 "[]int", n scalar i64 "int") {
b0:
  %3 = const -1 : i64
  %4 = const 134217729 : i64
  %5 = shared.sized %2, 0 : ptr<shared,i64>
  %6 = local.sized %3 : ptr<local,i64>
  %7 = shared.sized %4, 0 : ptr<shared,i64>
  %8 = load %5 : i64
  store %6, %8
  store %7, %8
  ret
}`
	err := Run(parse(t, text), Options{})
	require.Error(t, err)
	var msgs []string
	for _, e := range LengthErrors(err) {
		msgs = append(msgs, e.Error())
	}
	require.Equal(t, []string{
		"length of dsl.SharedSlice is not known at compile time",
		"dsl.LocalSlice of -1 elements",
		"dsl.SharedSlice of 134217729 elements is too large",
	}, msgs)
	require.Empty(t, LengthErrors(errors.New("other")))
	require.Empty(t, LengthErrors(errors.Join(errors.New("other"))))
}

// Lengths are found whatever is turned off.
func TestSizeStandsAlone(t *testing.T) {
	const text = `
kernel @k(%0: ptr<global,i64>, %1: i64) args(x slice i64 "[]int") {
b0:
  %2 = const 3 : i64
  %3 = mul %2, %2 : i64
  %4 = local.sized %3 : ptr<local,i64>
  %5 = load %4 : i64
  store %0, %5
  ret
}`
	var off []string
	for _, p := range Passes {
		if !p.Required {
			off = append(off, p.Name)
		}
	}
	m := parse(t, text)
	require.NoError(t, Run(m, Options{Disable: off, Check: ir.Verify}))
	require.Contains(t, m.String(), "ptr<local,[9]i64>")
}
