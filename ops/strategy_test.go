package ops_test

import (
	"strings"
	"testing"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
)

// TestStrategies runs a problem by the first strategy that fits, by a name, and by one that there
// is not.
func TestStrategies(t *testing.T) {
	var ran string
	row := func(name string, fits func(*int) bool) ops.Strategy[int] {
		return ops.Strategy[int]{Name: name, Fits: fits, Run: func(*runtime.Stream, *int) error { ran = name; return nil }}
	}
	table := ops.NewStrategies(
		row("never", ops.Never[int]),
		row("small", func(n *int) bool { return *n < 10 }),
		row("even", func(n *int) bool { return *n%2 == 0 }),
	)
	for _, c := range []struct {
		n          int
		name, want string
	}{{4, "", "small"}, {12, "", "even"}, {4, "even", "even"}, {13, "never", "never"}} {
		ran = ""
		if err := table.RunBy(nil, c.name, &c.n); err != nil || ran != c.want {
			t.Errorf("%d by %q ran %q (%v), want %q", c.n, c.name, ran, err, c.want)
		}
	}
	n := 13
	if err := table.Run(nil, &n); err == nil || !strings.Contains(err.Error(), `none of the strategies ["never" "small" "even"] fits 13`) {
		t.Errorf("13: %v", err)
	}
	if err := table.RunBy(nil, "odd", &n); err == nil || !strings.Contains(err.Error(), `no strategy "odd"`) {
		t.Errorf("odd: %v", err)
	}
}
