package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveHub makes the files of a folder those of the repository org/name of a hub, which the
// environment then names: serve-hub folder.
func serveHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve-hub folder")
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	files, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	contents := map[string][]byte{}
	var tree []map[string]any
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(ts.MkAbs(args[0]), f.Name()))
		ts.Check(err)
		contents["/org/name/resolve/"+commit+"/"+f.Name()] = b
		lfs := map[string]any{"oid": fmt.Sprintf("%x", sha256.Sum256(b)), "size": len(b)}
		tree = append(tree, map[string]any{"type": "file", "path": f.Name(), "size": len(b), "oid": commit, "lfs": lfs})
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := contents[r.URL.Path]
		switch {
		case ok:
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
		case strings.HasPrefix(r.URL.Path, "/api/models/org/name/tree/"):
			_ = json.NewEncoder(w).Encode(tree)
		case r.URL.Path == "/api/models/org/name/revision/main":
			_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit})
		default:
			http.NotFound(w, r)
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv("HF_ENDPOINT", s.URL)
	ts.Setenv("HF_HUB_CACHE", ts.MkAbs("hub"))
}
