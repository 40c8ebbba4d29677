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
		"dsl.LocalSlice of a negative length, -1",
		"dsl.SharedSlice of 134217729 elements is too large",
	}, msgs)
	require.Empty(t, LengthErrors(errors.New("other")))
	require.Empty(t, LengthErrors(errors.Join(errors.New("other"))))
}

// The module has launch bounds where the kernel said so; they must be of use, and one.
func TestLaunchBounds(t *testing.T) {
	module := func(body string) *ir.Module {
		return parse(t, "kernel @k(%0: i64) args(n scalar i64 \"int\") {\nb0:\n%1 = const 64 : i64\n%2 = const 2 : i64\n%3 = const 0 : i64\n%4 = const -1 : i64\n"+body+"\nret\n}")
	}
	for _, c := range []struct {
		body string
		want ir.Bounds
		err  string
	}{
		{body: "launch.bounds %1, %2", want: ir.Bounds{Threads: 64, Blocks: 2}},
		{body: "launch.bounds %1, %3", want: ir.Bounds{Threads: 64}},
		{body: "%5 = mul %1, %2 : i64\nlaunch.bounds %5, %2\nlaunch.bounds %5, %2", want: ir.Bounds{Threads: 128, Blocks: 2}},
		{body: "launch.bounds %0, %2", err: "numbers of dsl.LaunchBounds are not known at compile time"},
		{body: "launch.bounds %3, %2", err: "dsl.LaunchBounds of blocks of 0 threads"},
		{body: "launch.bounds %1, %4", err: "dsl.LaunchBounds of -1 blocks"},
		{body: "launch.bounds %1, %2\nlaunch.bounds %1, %3", err: "dsl.LaunchBounds of 64 threads and 0 blocks, and elsewhere in the kernel of 64 and 2"},
		{body: "launch.cluster %2\nlaunch.bounds %1, %2", want: ir.Bounds{Threads: 64, Blocks: 2, Cluster: 2}},
		{body: "launch.bounds %1, %2\nlaunch.cluster %2\nlaunch.cluster %2", want: ir.Bounds{Threads: 64, Blocks: 2, Cluster: 2}},
		{body: "launch.cluster %0", err: "number of dsl.Cluster is not known at compile time"},
		{body: "launch.cluster %1", err: "dsl.Cluster of 64 blocks"},
		{body: "launch.cluster %3", err: "dsl.Cluster of 0 blocks"},
		{body: "%5 = add %2, %2 : i64\nlaunch.cluster %2\nlaunch.cluster %5", err: "dsl.Cluster of 4 blocks, and elsewhere in the kernel of 2"},
	} {
		m := module(c.body)
		err := Run(m, Options{})
		if c.err != "" {
			require.Len(t, LengthErrors(err), 1, c.body)
			require.EqualError(t, LengthErrors(err)[0], c.err)
			continue
		}
		require.NoError(t, err, c.body)
		require.Equal(t, c.want, m.Launch)
		require.NotContains(t, m.Text(), "launch.bounds")
		again, err := ir.Parse(m.Text())
		require.NoError(t, err)
		require.Equal(t, c.want, again.Launch, m.Text())
	}
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

// The number of groups of copies that a kernel does not wait for is constant.
func TestCopyGroups(t *testing.T) {
	for n, want := range map[string]string{
		"%1": "", "%2": "dsl.CopyWaitGroups of -1 groups", "%0": "number of groups of dsl.CopyWaitGroups is not known at compile time",
	} {
		m := parse(t, "kernel @k(%0: i64) args(n scalar i64 \"int\") {\nb0:\n%1 = const 64 : i64\n%2 = const -1 : i64\ncopy.wait.groups "+n+"\nret\n}")
		err := Run(m, Options{Async: true})
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, LengthErrors(err)[0], want)
	}
}
