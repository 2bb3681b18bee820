#include "who.h"

#include <stdlib.h>
#include <string.h>

#include "tmpl.h"
#include "util.h"

int16_t who_path(struct who *w, int16_t parent, const char *frame, int64_t module)
{
	char name[64], *end;

	strcpy(name, frame + strlen("nn.Module: "));
	end = strstr(name, T_NUM);
	*put_i64(end, module) = '\0';
	for (int i = 0; i < w->n_paths; i++)
		if (w->paths[i].parent == parent && !strcmp(w->paths[i].name, name))
			return (int16_t)(i + 1);
	w->paths = xrealloc(w->paths, (size_t)w->n_paths + 1, sizeof(*w->paths));
	w->paths[w->n_paths] = (struct who_path){ parent, strdup(name) };
	return (int16_t)++w->n_paths;
}

int16_t who_site(struct who *w, const char *site)
{
	for (int i = 0; i < w->n_sites; i++)
		if (!strcmp(w->sites[i], site))
			return (int16_t)(i + 1);
	w->sites = xrealloc(w->sites, (size_t)w->n_sites + 1, sizeof(*w->sites));
	w->sites[w->n_sites] = site;
	return (int16_t)++w->n_sites;
}

void who_free(struct who *w)
{
	for (int i = 0; i < w->n_paths; i++)
		free(w->paths[i].name);
	free(w->paths);
	free(w->sites);
}
