"""How something sounds: `/api/voices`, `/api/adapters`, `/api/trainings` that make both, `/api/lexicon`."""
