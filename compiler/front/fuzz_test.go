package front

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/ir"
)

// FuzzCheck feeds any text to the compiler: it may be refused, and must not end
// in an internal error or in IR that the verifier refuses.
func FuzzCheck(f *testing.F) {
	for _, pattern := range []string{"testdata/errors/*.go", "internal/cases/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal("no seeds", err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Add(swiglu)
	f.Fuzz(func(t *testing.T, text string) {
		watch := time.AfterFunc(10*time.Second, func() { panic("no end in sight for:\n" + text) })
		defer watch.Stop()
		p := &Package{Path: "example.com/k", Files: []File{{Name: "k.go", Text: []byte(text)}}}
		list := Check(p, registered, func(m *ir.Module) diag.List {
			if err := ir.Verify(m); err != nil {
				t.Errorf("%v\n%s", err, m)
			}
			return nil
		})
		for _, d := range list {
			if d.Code == diag.Internal && !strings.Contains(d.Note, "golang.org/x/tools") {
				t.Errorf("%+v", d)
			}
		}
	})
}
