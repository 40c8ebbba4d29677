package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrUnusable is in the chain of errors that say why a directory cannot serve
// as a cache at all: there is none, it is no directory, or others can write
// to it.
var ErrUnusable = errors.New("cache unusable")

// errNoDir is the state of a store opened on "".
var errNoDir = fmt.Errorf("%w: no directory: neither KILN_CACHE_DIR nor a home directory is set; set KILN_CACHE_DIR", ErrUnusable)

// DefaultDir returns $KILN_CACHE_DIR, or "kiln" below the user's cache
// directory, or "" where the system names none. [Open] takes each of them.
func DefaultDir() string {
	if dir := os.Getenv("KILN_CACHE_DIR"); dir != "" {
		return dir
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(base, "kiln")
}

// checkDir reports why dir must not be used. A missing directory gives an
// error that is fs.ErrNotExist, any other is ErrUnusable.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w; set KILN_CACHE_DIR to a directory of yours", ErrUnusable, err)
	case !info.IsDir():
		return fmt.Errorf("%w: %s is not a directory; remove it or set KILN_CACHE_DIR", ErrUnusable, dir)
	}
	return checkOwner(dir, info)
}

// CheckFile reports why a file must not be run that lies somewhere else than in a cache:
// others can write to it. It is not for files that are signed.
func CheckFile(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return checkFileOwner(name, info)
}
