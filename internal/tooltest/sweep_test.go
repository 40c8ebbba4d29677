package tooltest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Some of a list has all values, few of them more than once, keeps the order, and does not change
// where something without their values comes in.
func TestSome(t *testing.T) {
	var list []string
	for i := range 40 {
		for k := range 12 {
			list = append(list, fmt.Sprintf("op%d/type%d", i, k))
		}
	}
	values := func(s string) []string { return strings.Split(s, "/") }
	same := func(s string) string { return s }
	some := Some(list, same, values)
	had := map[string]bool{}
	for _, s := range some {
		for _, v := range values(s) {
			had[v] = true
		}
	}
	if len(had) != 52 || len(some) < 40 || len(some) > 52 {
		t.Errorf("%d of %d have %d values, want 52", len(some), len(list), len(had))
	}
	if !slices.IsSortedFunc(some, func(a, b string) int { return slices.Index(list, a) - slices.Index(list, b) }) {
		t.Error("the order has changed")
	}
	more := Some(append([]string{"other/thing"}, list...), same, values)
	if !slices.Equal(more[1:], some) {
		t.Error("another one has moved some")
	}
	if Some(nil, same, values) != nil {
		t.Error("some of nothing")
	}
}
