package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gokiln/kiln/internal/atomicfile"
)

// Bounds of what a hub may answer.
const (
	longestAnswer = 64 << 20
	mostFiles     = 200_000
)

// Snapshot is the files of a commit.
type Snapshot struct {
	Repo   string
	Commit string
	Dir    string // the folder of links, which may not be there yet
	Files  []File // by path

	c *Client
}

// File is one of a [Snapshot].
type File struct {
	Path string // with slashes
	Size int64

	sum string // SHA-256, or git's SHA-1 in 40 digits; "" if it is not known
	git string // git's SHA-1 of what it has in place of a file in large file storage
}

// folder is where a repository is in the cache.
func (c *Client) folder(repo string) string {
	return filepath.Join(c.Cache, "models--"+strings.ReplaceAll(repo, "/", "--"))
}

// Files says which files a repository has, at a branch, tag or commit, "" for the branch main. If
// the hub cannot be reached, and when the client is offline, it is what the cache says.
func (c *Client) Files(ctx context.Context, repo, revision string) (*Snapshot, error) {
	s, err := c.files(ctx, repo, cmp.Or(revision, "main"))
	if err != nil {
		return nil, fmt.Errorf("hub: %s: %w", repo, err)
	}
	return s, nil
}

func (c *Client) files(ctx context.Context, repo, revision string) (*Snapshot, error) {
	if err := errors.Join(c.check(), checkRepo(repo)); err != nil {
		return nil, err
	}
	if checkPath(revision) != nil {
		return nil, fmt.Errorf("%w: revision %q", ErrName, revision)
	}
	s := &Snapshot{Repo: repo, c: c}
	commit, unreached := c.commit(ctx, repo, revision)
	var t *temporary
	if unreached != nil && !errors.As(unreached, &t) && !errors.Is(unreached, ErrOffline) {
		return nil, unreached
	}
	if unreached != nil {
		b, err := os.ReadFile(filepath.Join(c.folder(repo), "refs", filepath.FromSlash(revision)))
		if commit = strings.TrimSpace(string(b)); err != nil || !commitID.MatchString(commit) {
			return nil, fmt.Errorf("%w at %s: %w", ErrOffline, c.Cache, unreached)
		}
	}
	s.Commit, s.Dir = commit, filepath.Join(c.folder(repo), "snapshots", commit)
	if s.readTree() {
		return s, nil
	}
	if unreached == nil && !c.Offline {
		if unreached = s.ask(ctx); unreached == nil {
			return s, s.writeTree()
		}
	}
	if err := s.walk(); err != nil || len(s.Files) == 0 {
		return nil, fmt.Errorf("%w at %s: %w", ErrOffline, c.Cache, cmp.Or(unreached, errOffline))
	}
	return s, nil
}

var errOffline = fmt.Errorf("%w: HF_HUB_OFFLINE forbids to ask the hub", ErrOffline)

// commit finds which commit a revision is, and keeps it in the cache.
func (c *Client) commit(ctx context.Context, repo, revision string) (string, error) {
	if commitID.MatchString(revision) {
		return revision, nil
	}
	if c.Offline {
		return "", errOffline
	}
	ref := filepath.Join(c.folder(repo), "refs", filepath.FromSlash(revision))
	most := tries
	known, err := os.ReadFile(ref)
	if err == nil {
		most = 1 // the cache may do
	}
	var info struct{ SHA string }
	address := c.endpoint() + "/api/models/" + repo + "/revision/" + url.PathEscape(revision)
	if _, err := c.json(ctx, most, address, &info); err != nil {
		return "", err
	}
	if !commitID.MatchString(info.SHA) {
		return "", fmt.Errorf("%w: %s: the commit is %q", ErrAnswer, address, info.SHA)
	}
	if string(known) == info.SHA {
		return info.SHA, nil
	}
	return info.SHA, writeFile(ref, []byte(info.SHA))
}

// writeFile writes a file as a whole, and the folder that it is in.
func writeFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(name, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// json reads an answer, and returns its header.
func (c *Client) json(
	ctx context.Context, most int, address string, to any,
) (h http.Header, err error) {
	err = c.attempts(ctx, most, func() (bool, error) {
		a, err := c.get(ctx, address, 0)
		if err != nil {
			return false, err
		}
		defer a.Body.Close()
		text, err := io.ReadAll(io.LimitReader(a.Body, longestAnswer+1))
		if err != nil {
			return false, &temporary{error: fmt.Errorf("%s: %w", address, err)}
		}
		h = a.Header
		if err = json.Unmarshal(text, to); err != nil || len(text) > longestAnswer {
			return false, fmt.Errorf("%w: %s: %d bytes: %w", ErrAnswer, address, len(text),
				cmp.Or(err, errTooLong))
		}
		return false, nil
	})
	return h, err
}

var (
	errTooLong = errors.New("too long")
	nextPage   = regexp.MustCompile(`<([^<>]*)>\s*;[^,<]*\brel="?next\b`)
)

// ask asks the hub which files there are, page by page.
func (s *Snapshot) ask(ctx context.Context) error {
	address := s.c.endpoint() + "/api/models/" + s.Repo + "/tree/" + s.Commit + "?recursive=true"
	for address != "" {
		var page []struct {
			Type, Path, OID string
			Size            int64
			LFS             *struct {
				OID  string
				Size int64
			}
		}
		h, err := s.c.json(ctx, tries, address, &page)
		if err != nil {
			return err
		}
		for _, e := range page {
			f := File{Path: e.Path, Size: e.Size, sum: e.OID, git: e.OID}
			if e.LFS != nil {
				f.Size, f.sum = e.LFS.Size, e.LFS.OID
			}
			if e.Type != "file" {
				continue
			}
			if err := f.check(); err != nil {
				return fmt.Errorf("%s: %w", address, err)
			}
			s.Files = append(s.Files, f)
		}
		from := address
		address = ""
		if m := nextPage.FindStringSubmatch(strings.Join(h.Values("Link"), ",")); m != nil {
			address = m[1]
		}
		if len(s.Files) > mostFiles || address == from || address != "" && len(page) == 0 {
			return fmt.Errorf("%w: %s: pages without end", ErrAnswer, from)
		}
	}
	slices.SortFunc(s.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return nil
}

// check checks what a hub says of a file.
func (f *File) check() error {
	if err := checkPath(f.Path); err != nil {
		return err
	}
	if f.Size < 0 || !commitID.MatchString(f.sum) && !sha256ID.MatchString(f.sum) {
		return fmt.Errorf("%w: %s has %d bytes and the checksum %q", ErrAnswer, f.Path, f.Size, f.sum)
	}
	return nil
}

// tree is a file of the cache that says which files a commit has.
type tree struct {
	Version int              `json:"format_version"` // 1
	Files   map[string]entry `json:"files"`
}

type entry struct {
	Size   int64  `json:"size"`
	Blob   string `json:"blob_id"`
	SHA256 string `json:"lfs_sha256,omitempty"`
	LFS    int64  `json:"lfs_size,omitempty"`
}

func (s *Snapshot) treeFile() string {
	return filepath.Join(s.c.folder(s.Repo), "trees", s.Commit+".json")
}

// readTree reads which files there are from the cache, and reports whether it says so.
func (s *Snapshot) readTree() bool {
	var t tree
	b, err := os.ReadFile(s.treeFile())
	if err != nil || json.Unmarshal(b, &t) != nil || t.Version != 1 {
		return false
	}
	var list []File
	for _, name := range slices.Sorted(maps.Keys(t.Files)) {
		e := t.Files[name]
		f := File{Path: name, Size: e.Size, sum: e.Blob, git: e.Blob}
		if e.SHA256 != "" {
			f.Size, f.sum = e.LFS, e.SHA256
		}
		if f.check() != nil {
			return false
		}
		list = append(list, f)
	}
	s.Files = list
	return true
}

func (s *Snapshot) writeTree() error {
	t := tree{Version: 1, Files: map[string]entry{}}
	for _, f := range s.Files {
		e := entry{Size: f.Size, Blob: f.git}
		if len(f.sum) == 64 {
			e.SHA256, e.LFS = f.sum, f.Size
		}
		t.Files[f.Path] = e
	}
	b, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	return writeFile(s.treeFile(), b)
}

// walk finds the files that are in the cache, where it does not say which there should be.
func (s *Snapshot) walk() error {
	return filepath.WalkDir(s.Dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil // a link to what is not there
		}
		rel, err := filepath.Rel(s.Dir, name)
		s.Files = append(s.Files, File{Path: filepath.ToSlash(rel), Size: info.Size()})
		return err
	})
}
