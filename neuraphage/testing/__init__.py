"""Public fakes and test tools: a scripted Messages API over real HTTP, and more."""
