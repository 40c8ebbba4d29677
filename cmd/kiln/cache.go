package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/cache"
)

func cacheCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "the store of compiled kernels",
		Long:  "The cache is the directory $KILN_CACHE_DIR, or kiln in the user's cache directory.\nIt may be removed at any time: what is missing is compiled again.",
	}
	var asJSON bool
	ls := &cobra.Command{
		Use: "ls", Short: "list the entries, most recently used first", Args: cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, s *cache.Store) error { return cacheList(cmd, s, asJSON) }),
	}
	ls.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	cmd.AddCommand(ls,
		&cobra.Command{
			Use: "path", Short: "print the directory", Args: cobra.NoArgs,
			RunE: withStore(func(cmd *cobra.Command, s *cache.Store) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), s.Dir())
				return err
			}),
		},
		&cobra.Command{
			Use: "verify", Short: "check every entry, name the damaged ones", Args: cobra.NoArgs,
			RunE: withStore(cacheVerify),
		},
		&cobra.Command{
			Use: "clear", Short: "remove every entry", Args: cobra.NoArgs,
			RunE: withStore(func(cmd *cobra.Command, s *cache.Store) error {
				if err := s.Clear(); err != nil {
					return fmt.Errorf("clearing the cache: %w", err)
				}
				return nil
			}),
		})
	return cmd
}

func withStore(run func(*cobra.Command, *cache.Store) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		s, err := cache.Open(cache.DefaultDir())
		if err != nil {
			return err
		}
		return run(cmd, s)
	}
}

func cacheList(cmd *cobra.Command, s *cache.Store, asJSON bool) error {
	list := s.List()
	slices.SortFunc(list, func(a, b cache.Info) int { return b.ModTime.Compare(a.ModTime) })
	if asJSON {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "KERNEL\tKIND\tTARGET\tFORMAT\tBYTES\tUSED\tKEY")
	var total int64
	for _, e := range list {
		total += e.Size
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%.12s\n", e.Kernel, e.Kind, e.Target, e.Format, e.Size, e.ModTime.Format(time.DateTime), e.Key)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%d entries, %d bytes in %s\n", len(list), total, s.Dir())
	return nil
}

func cacheVerify(cmd *cobra.Command, s *cache.Store) error {
	problems := s.Verify()
	for _, p := range problems {
		fmt.Fprintln(cmd.OutOrStdout(), p)
	}
	if len(problems) > 0 {
		return errProblems
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "no damage found")
	return nil
}
