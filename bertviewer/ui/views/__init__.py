"""What views of any kind share: chart panels, empty states, pages, links, stale marks."""
