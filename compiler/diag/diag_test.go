package diag

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite docs/diagnostics.md")

const page = "../../docs/diagnostics.md"

func TestPage(t *testing.T) {
	if *update {
		require.NoError(t, os.MkdirAll("../../docs", 0o755))
		require.NoError(t, os.WriteFile(page, []byte(Markdown()), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, Markdown(), string(got), "run go test ./compiler/diag -update")
}

func TestTable(t *testing.T) {
	form := regexp.MustCompile(`^K\d{4}$`)
	last := Code("")
	for _, r := range Codes {
		require.Regexp(t, form, string(r.Code))
		require.Less(t, last, r.Code, "codes are in order and unique")
		last = r.Code
		require.NotEmpty(t, r.Name)
		require.NotEmpty(t, r.Summary)
		require.NotEmpty(t, r.Fix)
		require.NotRegexp(t, `\.$`, r.Fix, "the page adds the full stop")
	}
	require.Nil(t, Lookup("K9999"))
}

func TestListSortsAndDropsDuplicates(t *testing.T) {
	var l List
	require.NoError(t, l.Err())
	require.Equal(t, "no errors", l.Error())
	at := func(file string, line, col int) Position { return Position{file, line, col} }
	l.Add(New(at("b.go", 1, 1), Map, "m", ""))
	l.Add(New(at("a.go", 2, 9), Goto, "g", "why"))
	l.Add(New(at("a.go", 2, 3), Map, "m", ""))
	l.Add(New(at("a.go", 2, 9), Goto, "g", ""))
	err := l.Err()
	array := "use an array, or a sorted slice prepared on the host"
	loop := "use a loop, or a labelled break or continue"
	require.EqualError(t, err, "a.go:2:3: K0102: m ("+array+")\na.go:2:9: K0112: g ("+loop+")\nb.go:1:1: K0102: m ("+array+")")
	require.EqualError(t, Diagnostic{Pos: at("a.go", 2, 3), Code: Map, Msg: "m"}, "a.go:2:3: K0102: m")
	require.Len(t, l, 4, "Err does not change the list")
	require.Equal(t, err.Error(), fmt.Sprintf("%v", err))
	require.Contains(t, fmt.Sprintf("%+v", err), "K0112: g\n\tnote: why\n\tfix: use a loop")
}

func TestPosition(t *testing.T) {
	require.Equal(t, "a.go", Position{File: "a.go"}.String())
	require.Equal(t, "a.go:3", Position{File: "a.go", Line: 3}.String())
	require.Equal(t, "a.go:3:1", Position{"a.go", 3, 1}.String())
	require.Equal(t, "a.go:3:1: K0102: m", fmt.Sprint(Diagnostic{Pos: Position{"a.go", 3, 1}, Code: Map, Msg: "m"}))
}
