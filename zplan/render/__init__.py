"""Values to something to show: text for people, JSON for programs. Renderers never compute."""
