package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The longest come first, short ones share a row, and the rest of the time is building.
func TestTable(t *testing.T) {
	lines := "6000000000 3000000000 /r/a\n1000000000 900000000 /r/b\n1000000000 900000000 /r/c/d\n61000000000 9000000000 /r/c\n"
	list, err := read(strings.NewReader(lines), "/r")
	require.NoError(t, err)
	require.Equal(t, `| package | CPU s | wall s |
|---|---|---|
| `+"`c`"+` | 61 | 9 |
| `+"`a`"+` | 6 | 3 |
| 2 others | 2 | |
| building and linking | 11 | |
| all | 80 | 30 |
`, table(list, 80*time.Second, 30*time.Second))
	_, err = read(strings.NewReader("x\n"), "/r")
	require.ErrorContains(t, err, `reading "x"`)
}

// The table of a page is replaced, and nothing else of it.
func TestRewrite(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("a\n"+opening+"old\n"+closing+"b\n"), 0o666))
	require.NoError(t, rewrite(page, "new\n"))
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, "a\n"+opening+"new\n"+closing+"b\n", string(got))
	require.NoError(t, os.WriteFile(page, []byte("a\n"), 0o666))
	require.ErrorContains(t, rewrite(page, "new\n"), "has no lines")
}

// A program's time and exit status are those of the program.
func TestTimed(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "times")
	require.NoError(t, os.WriteFile(path, nil, 0o666))
	code, err := timed(path, []string{self, "-test.list=^$"})
	require.NoError(t, err)
	require.Zero(t, code)
	code, err = timed(path, []string{self, "-test.no-such-flag"})
	require.NoError(t, err)
	require.Equal(t, 2, code)
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	dir, err := os.Getwd()
	require.NoError(t, err)
	list, err := read(f, dir)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Positive(t, list[0].cpu)
	require.Equal(t, ".", list[0].pkg)
}
